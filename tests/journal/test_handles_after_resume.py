"""Host objects that guest code holds, after the process that made them is gone."""
