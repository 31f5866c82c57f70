"""The pages that control draws: words in two languages, figures as people read them, the frame around each page."""
