import { toSeconds } from '../../contract/time-units.ts';
import type { DeliveryRow } from './delivery-store.ts';
import type { EndpointRow } from './endpoint-store.ts';
import { parseTypes } from './fan-out.ts';

const toSecondsOrNull = (unixMs: number | null): number | null => (unixMs === null ? null : toSeconds(unixMs));

export const toWebhook = (row: EndpointRow & { readonly pending: number }) => ({
  id: row.id,
  url: row.url,
  events: parseTypes(row),
  description: row.description,
  enabled: row.enabled === 1,
  preset: row.preset,
  disabled_reason: row.disabled_reason,
  failing_since: toSecondsOrNull(row.failing_since),
  pending: row.pending,
  created_time: toSeconds(row.created_at),
});

export const toDelivery = (row: DeliveryRow) => ({
  id: row.id,
  event_id: row.event_id,
  event_type: row.event_type,
  status: row.status,
  tries: row.tries,
  next_try_at: toSecondsOrNull(row.next_try_at),
  created_time: toSeconds(row.created_at),
  last_try:
    row.last_try_at === null
      ? null
      : {
          at: toSeconds(row.last_try_at),
          url: row.last_url,
          request_body: row.last_request,
          response_status: row.last_status,
          response_body: row.last_response,
          error: row.last_error,
          duration_ms: row.last_duration_ms,
        },
});
