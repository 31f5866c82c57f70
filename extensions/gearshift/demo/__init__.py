"""The whole line on real input, headless: `gearshift demo`."""
