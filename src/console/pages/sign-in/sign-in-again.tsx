import { Modal, Stack, Text } from '@mantine/core';
import { useRouterState } from '@tanstack/react-router';
import { Suspense, useEffect, useState } from 'react';
import { useTranslation } from 'react-i18next';
import { useReturnFocus } from '../../components/dialog.tsx';
import { queryClient } from '../../data/api-client.ts';
import { onUserChange, readLastUserId, storeUserId, suspendUserId } from '../../data/browser-storage.ts';
import { useSelf } from '../../data/self.ts';
import { showOverPage } from '../../root-routes.tsx';
import { SignIn } from './sign-in-page.tsx';

/** Above every other dialog of the page. */
const Z_INDEX = 1_000;

/** Shortcuts would act on the page behind the sign-in. The focus trap needs Tab. */
const holdKeys = (event: KeyboardEvent): void => {
  if (event.key !== 'Tab') event.stopImmediatePropagation();
};

/**
 * Covers a page with input whose session has ended by the sign-in. The page then continues where it was, or is loaded
 * again for another account.
 */
export const signInAgain = (): Promise<true> =>
  new Promise((resolve) => {
    const finish = (): void => {
      showOverPage(null);
      resolve(true);
    };
    showOverPage(
      <Suspense>
        <SignInAgain onDone={finish} />
      </Suspense>,
    );
  });

function SignInAgain({ onDone }: { readonly onDone: () => void }) {
  useReturnFocus();
  const { t } = useTranslation('sign-in');
  const { data: self } = useSelf();
  const [owner] = useState(readLastUserId);
  const continueAs = async (id: number): Promise<void> => {
    if (id !== owner) return location.reload();
    onDone();
    await queryClient.invalidateQueries();
  };
  const finishSignIn = async (id: number): Promise<void> => {
    storeUserId(id);
    await continueAs(id);
  };
  // biome-ignore lint/correctness/useExhaustiveDependencies: once
  useEffect(() => {
    // A sign-in of another tab then changes it.
    suspendUserId();
    // The browser shows these above everything else.
    for (const dialog of document.querySelectorAll('dialog')) dialog.close();
    const done = new AbortController();
    const { signal } = done;
    addEventListener('keydown', holdKeys, { capture: true, signal });
    onUserChange(
      (id) => {
        if (id !== undefined) void continueAs(id);
        // Signed out on purpose: nothing of the account stays behind the dialog.
        else if (readLastUserId() === undefined) location.reload();
      },
      { signal },
    );
    return () => done.abort();
  }, []);
  const path = useRouterState({ select: ({ location }) => location.pathname });
  const [initialPath] = useState(path);
  useEffect(() => {
    if (path !== initialPath) location.reload();
  }, [path, initialPath]);
  return (
    <SignIn
      isEnded
      isOverPage
      back={path}
      onDone={finishSignIn}
      frame={(title, form) => (
        <Modal
          opened
          onClose={() => {}}
          title={title}
          withCloseButton={false}
          closeOnEscape={false}
          closeOnClickOutside={false}
          zIndex={Z_INDEX}
          overlayProps={{ color: 'var(--mantine-color-body)', backgroundOpacity: 1 }}
        >
          <Stack>
            <Text size="sm">{t('signIn.over', { name: self?.username })}</Text>
            {form}
          </Stack>
        </Modal>
      )}
    />
  );
}
