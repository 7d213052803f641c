"""What every stage stands on: documents and files, records, the critic protocol, resampling, and the experiment's parameters."""
