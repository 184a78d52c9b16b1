"""The hardware table's pages: what to buy, what would change a verdict, and the note for whoever pays."""
