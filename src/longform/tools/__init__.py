"""What the commands do with any model: suites judged, texts written, texts checked, exports."""
