import type { UsableModel } from '../../data/usable-models-query.ts';

/** The vendor's title of the model, with the id if it adds information, as for an alias. */
export function modelLabel({ id, capability }: UsableModel): string {
  if (capability === null) return id;
  const plain = (text: string): string => text.toLowerCase().replace(/[^a-z0-9]/g, '');
  return plain(capability.title) === plain(id) ? capability.title : `${capability.title} · ${id}`;
}
