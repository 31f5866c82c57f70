"""Images: their declarations and locks, and the environments and containers made from them on this box."""
