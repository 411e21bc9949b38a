import { INCIDENTS, type IncidentId } from '../../contract/admin-service-status.ts';
import type { SeenIncident } from './instance-incident-recorder.ts';
import type { InstanceRow } from './instance-store.ts';

/** Three periods: one check may be late under load. */
const UNRESPONSIVE_AFTER_MS = 90_000;

export const isResponsive = ({ seen_at: seenAt }: Pick<InstanceRow, 'seen_at'>, now: number): boolean =>
  now - seenAt <= UNRESPONSIVE_AFTER_MS;

/** Every incident, with what the responsive processes see of it together. An unresponsive process is one itself. */
export function mergeInstanceIncidents(instances: readonly InstanceRow[], now: number) {
  const unresponsive = instances.filter((row) => !isResponsive(row, now));
  const seen: SeenIncident[] = instances
    .filter((row) => isResponsive(row, now))
    .flatMap(({ incidents }) => JSON.parse(incidents) as SeenIncident[]);
  for (const { name, seen_at: since } of unresponsive) seen.push({ id: 'replica_frozen', subjects: [name], since });
  return (Object.keys(INCIDENTS) as IncidentId[]).map((id) => {
    const own = seen.filter((each) => each.id === id);
    return {
      id,
      severity: INCIDENTS[id],
      is_open: own.length > 0,
      since: own.length === 0 ? 0 : Math.min(...own.map(({ since }) => since)),
      subjects: [...new Set(own.flatMap(({ subjects }) => subjects))].sort(),
    };
  });
}
