import { Anchor, type AnchorProps, Button, type ButtonProps } from '@mantine/core';
import { Link } from '@tanstack/react-router';
import type { ReactNode } from 'react';

interface Target {
  readonly to: string;
  readonly search?: Readonly<Record<string, string | number | boolean>>;
  readonly title?: string;
  readonly children: ReactNode;
}

/** A link to another page, with filters where it leads to a list. */
export function ToLink({ to, search, children, ...anchor }: Target & AnchorProps) {
  return (
    <Anchor
      renderRoot={(props) => <Link to={to} {...(search === undefined ? {} : { search })} {...props} />}
      {...anchor}
    >
      {children}
    </Anchor>
  );
}

export function ToButton({ to, search, children, ...button }: Target & ButtonProps) {
  return (
    <Button
      renderRoot={(props) => <Link to={to} {...(search === undefined ? {} : { search })} {...props} />}
      {...button}
    >
      {children}
    </Button>
  );
}
