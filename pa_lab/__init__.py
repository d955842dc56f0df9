"""The passive-aggressive family of online learners: exact, fast, and studied on real data."""
