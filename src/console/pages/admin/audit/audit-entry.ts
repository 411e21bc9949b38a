const PAGE_BY_TARGET: Readonly<Record<string, string>> = {
  user: 'users',
  channel: 'channels',
  model: 'models',
  ticket: 'tickets',
  beta_application: 'beta-applications',
  'package-card': 'packages',
};

/** Page of an audit entry's target, such as `user:12`; undefined if the target has no page. */
export function auditTargetPath(target: string): string | undefined {
  const at = target.indexOf(':');
  const page = PAGE_BY_TARGET[target.slice(0, Math.max(0, at))];
  return page === undefined
    ? undefined
    : `/admin/${page}/${encodeURIComponent(target.slice(at + 1).replaceAll('/', '~'))}`;
}

/** Names of the fields that differ between both sides of a change. */
export function changedKeys(before: unknown, after: unknown): string[] {
  const [one, two] = [before, after].map((side) =>
    typeof side === 'object' && side !== null ? (side as Record<string, unknown>) : {},
  );
  return [...new Set([...Object.keys(one ?? {}), ...Object.keys(two ?? {})])].filter(
    (key) => JSON.stringify(one?.[key]) !== JSON.stringify(two?.[key]),
  );
}
