"""The face: pages, command line, and the one place that wires everything."""
