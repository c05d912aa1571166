"""What runs mean: comparisons, statistics, the paper's tables, beliefs against the truth, skills of teammates."""
