import { Anchor, type AnchorProps, Button, type ButtonProps } from '@mantine/core';
import { createLink } from '@tanstack/react-router';
import type { ReactNode, Ref } from 'react';

interface LinkElementProps {
  readonly ref?: Ref<HTMLAnchorElement>;
  readonly title?: string;
  readonly children?: ReactNode;
}

/** A link to a page of the console; path, parameters and search are checked against the router's types. */
export const RouteLink = createLink((props: LinkElementProps & Omit<AnchorProps, 'href'>) => <Anchor {...props} />);

/** The same, drawn as a button. */
export const RouteButton = createLink((props: LinkElementProps & Omit<ButtonProps, 'href'>) => (
  <Button component="a" {...props} />
));
