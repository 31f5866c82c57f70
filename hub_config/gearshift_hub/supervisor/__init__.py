"""`gearshift up`: one process that starts, watches and ends the four parts of a deployment on one box."""
