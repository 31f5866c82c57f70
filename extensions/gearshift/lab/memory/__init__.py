"""The memory guard: warns before the limit, interrupts if wanted, and says afterwards which kernel died of what."""
