"""Where frames and sound come from: one file each."""
