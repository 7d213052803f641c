"""Parts of long sampling: named noise, certain draws, contexts, drafts on disk."""
