"""What several test modules share: events, views in memory, strategies."""
