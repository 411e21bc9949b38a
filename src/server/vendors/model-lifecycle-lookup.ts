import { ACTIVE, ENDS } from './active-and-retiring-models.ts';
import type { ModelLifecycle } from './adapter-types.ts';

/** When the table was read through last; a test asks for a newer reading after half a year. */
const CHECKED = '2026-11-22';

/** What is known of a model of a vendor: the ends that were announced, else that it is active. `stage` is that of the reading. */
export function lifecyclesOf(vendor: string, id: string): readonly ModelLifecycle[] {
  const ends = ENDS.filter((end) => end.id === id).map(({ id: _, ...end }) => ({
    ...end,
    // What nobody has confirmed is not said to be over.
    stage: end.retiresOn <= CHECKED && end.confirmedOn !== null ? ('retired' as const) : ('deprecated' as const),
    checkedOn: CHECKED,
  }));
  const rest = ACTIVE.filter((row) => row.vendor === vendor && row.ids.includes(id)).filter(
    ({ route }) => !ends.some((end) => end.route === route),
  );
  return [
    ...ends,
    ...rest.map(({ route, source, confirmedOn }) => ({
      route,
      source,
      confirmedOn,
      stage: 'active' as const,
      checkedOn: CHECKED,
    })),
  ];
}
