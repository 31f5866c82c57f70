"""What all tests share: the fixtures of the support package."""

pytest_plugins = ["gearshift_testing.fixtures"]
