"""Running as a service: a single instance, messages to the service manager, desktop notifications."""
