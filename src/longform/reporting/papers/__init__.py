"""The tables and figures of each paper: functions of result records and of what the paper printed."""
