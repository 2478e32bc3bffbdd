"""Where frames come from: one file each."""
