"""The shared domain of Gearshift: what things are and what follows from them, without input or output."""
