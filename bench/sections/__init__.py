"""What is measured, a file for each section of docs/benchmarks.md: measure(options) returns raw figures, for JSON."""
