"""Where each device sits and how far apart two devices are."""
