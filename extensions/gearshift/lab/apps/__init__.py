"""The app of a workspace: its process, and its address below the workspace's own."""
