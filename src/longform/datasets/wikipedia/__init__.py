"""MediaWiki dumps become articles: streaming, sharded, counted."""
