"""Images: their declarations and locks, and the environments made from them on this box."""
