"""What pages keep between reruns: the only place that caches."""
