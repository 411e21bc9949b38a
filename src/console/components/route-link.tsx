import { Anchor, type AnchorProps, Button, type ButtonProps, Text } from '@mantine/core';
import { createLink, useParams } from '@tanstack/react-router';
import type { ReactNode, Ref } from 'react';
import type { NameLookup } from '../data/admin.ts';

interface LinkElementProps {
  readonly ref?: Ref<HTMLAnchorElement>;
  readonly title?: string;
  readonly children?: ReactNode;
}

/** A link to a page of the console; path, parameters and search are checked against the router's types. */
export const RouteLink = createLink((props: LinkElementProps & Omit<AnchorProps, 'href'>) => <Anchor {...props} />);

/** A page link styled as a button. */
export const RouteButton = createLink((props: LinkElementProps & Omit<ButtonProps, 'href'>) => (
  <Button component="a" {...props} />
));

/** The `id` parameter of a detail page's URL. */
export const useRouteId = (): string => (useParams({ strict: false }) as { readonly id?: string }).id ?? '';

interface UserOrChannelLinkProps extends AnchorProps {
  readonly to: 'users' | 'organizations' | 'channels';
  readonly id: number | null;
  readonly names: NameLookup;
}

/** Link to a user, organization or channel by name; shows the id while the name is loading and after the entity was deleted. */
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

interface OwnerLinkProps {
  readonly user_id?: number;
  /** Slug; empty: the owner is an account. */
  readonly organization?: string;
  /** User name of the member who acted for the organization. */
  readonly submitted_by?: string;
  readonly names: NameLookup;
}

/** Link to the account that owns something, or to the organization, with the member who acted for it. */
export function OwnerLink({ user_id: id, organization = '', submitted_by: member = '', names }: OwnerLinkProps) {
  return (
    <>
      <UserOrChannelLink to={organization === '' ? 'users' : 'organizations'} id={id ?? null} names={names} />
      {member === '' ? null : (
        <Text size="xs" c="dimmed" truncate maw={160}>
          {member}
        </Text>
      )}
    </>
  );
}
