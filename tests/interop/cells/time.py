now = time.get_current_time(timezone="Asia/Tokyo")
assert now.timezone == "Asia/Tokyo" and now.datetime.endswith("+09:00"), now
noon = time.convert_time(source_timezone="Asia/Tokyo", time="12:00", target_timezone="UTC")
assert "T03:00:00" in noon.target.datetime and noon.time_difference == "-9.0h", noon
