import type { AnchorProps } from '@mantine/core';
import type { NameLookup } from '../data/user-and-channel-names.ts';
import { RouteLink } from './route-link.tsx';

interface UserOrChannelLinkProps extends AnchorProps {
  readonly to: 'users' | 'channels';
  readonly id: number | null;
  readonly names: NameLookup;
}

/** A user or a channel by name; by id while the name is being fetched and after the entity was deleted. */
export function UserOrChannelLink({ to, id, names, ...anchor }: UserOrChannelLinkProps) {
  return id === null ? (
    '–'
  ) : (
    <RouteLink
      to={`/admin/${to}/$id`}
      params={{ id: String(id) }}
      size="sm"
      title={`#${id}`}
      truncate
      display="inline-block"
      maw={160}
      style={{ verticalAlign: 'bottom' }}
      {...anchor}
    >
      {names(id) ?? `#${id}`}
    </RouteLink>
  );
}
