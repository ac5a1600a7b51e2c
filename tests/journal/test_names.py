"""Names of the scope that came, went or changed between two lives of one session."""
