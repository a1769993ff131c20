"""Pictures, texts and tables made from the model: plain data in, no torch."""
