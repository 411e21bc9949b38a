import { useLocation, useNavigate } from '@tanstack/react-router';
import { useEffect, useEffectEvent } from 'react';

/** Hash of a page's URL that opens its dialog for a new item, as the command palette's actions do. */
export const CREATE_HASH = 'new';

/** Calls `open` when the page is opened with that hash, which is then removed from the URL. */
export function useCreateRequest(open: () => void): void {
  const isRequested = useLocation({ select: ({ hash }) => hash === CREATE_HASH });
  const navigate = useNavigate();
  const fulfil = useEffectEvent(() => {
    open();
    void navigate({ to: '.', search: true, hash: '', replace: true });
  });
  useEffect(() => {
    if (isRequested) fulfil();
  }, [isRequested]);
}
