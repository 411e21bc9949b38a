import { cloneElement, type ReactElement, type ReactNode, Suspense, useEffect, useState } from 'react';

type Button = ReactElement<Record<string, unknown>>;

interface LazyDropdownButtonProps {
  /** The button without a click handler. */
  readonly button: Button;
  /** The button with its dropdown, in a lazy component. */
  readonly dropdown: (button: Button) => ReactNode;
  readonly popup: 'menu' | 'dialog';
}

/** A button whose dropdown is loaded and opened on the first click. */
export function LazyDropdownButton({ button, dropdown, popup }: LazyDropdownButtonProps) {
  const [asked, setAsked] = useState(false);
  const waiting = cloneElement(button, {
    onClick: () => setAsked(true),
    'aria-haspopup': popup,
    'aria-expanded': false,
  });
  if (!asked) return waiting;
  return (
    <Suspense fallback={waiting}>
      {/* The loaded button replaces the clicked one and takes over its focus. */}
      {dropdown(cloneElement(button, { autoFocus: true }))}
    </Suspense>
  );
}

/** Opens after mounting: a dropdown that mounts open would not return the focus to its button. */
export function useOpenedOnMount(): readonly [boolean, (opened: boolean) => void] {
  const [opened, setOpened] = useState(false);
  useEffect(() => setOpened(true), []);
  return [opened, setOpened];
}
