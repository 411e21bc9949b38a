import { cloneElement, type ReactElement, type ReactNode, Suspense, useEffect, useState } from 'react';

type Button = ReactElement<Record<string, unknown>>;

interface LazyDropdownButtonProps {
  /** The button, without what a press does. */
  readonly button: Button;
  /** The button with what it opens, in a lazy component. */
  readonly dropdown: (button: Button) => ReactNode;
  readonly popup: 'menu' | 'dialog';
}

/** A button whose menu or panel is loaded, and then opens, when it is first pressed. */
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
      {/* The loaded button takes the place of the pressed one, and so its focus. */}
      {dropdown(cloneElement(button, { autoFocus: true }))}
    </Suspense>
  );
}

/** Open once mounted: a dropdown that is open from the beginning would not give the focus back to its button. */
export function useOpenedOnMount(): readonly [boolean, (opened: boolean) => void] {
  const [opened, setOpened] = useState(false);
  useEffect(() => setOpened(true), []);
  return [opened, setOpened];
}
