-- The attempts of a row are kept by the column, and what all of them share once: a fraction of the text, and half of the time that it
-- took PostgreSQL to read, compress and write it.
update webhook_attempts set attempts = case when size = 0 then '{}' else (
  select json_build_object(
    'at', json_agg(attempt->'at'), 'eventId', json_agg(attempt->'eventId'), 'ownId', json_agg(attempt->'ownId'),
    'eventType', json_agg(attempt->'eventType'), 'attempt', json_agg(attempt->'attempt'),
    'statusCode', json_agg(attempt->'statusCode'), 'latencyMs', json_agg(attempt->'latencyMs'),
    'outcome', json_agg(attempt->'outcome'), 'error', json_agg(attempt->'error'),
    'response', json_agg(attempt->'response'))
  from json_array_elements(attempts) as attempt) end;
