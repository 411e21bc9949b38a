import { Button, Group, Text } from '@mantine/core';
import { type ReactNode, useState } from 'react';
import { useTranslation } from 'react-i18next';
import { Dialog } from './dialog.tsx';
import { ErrorAlert } from './error-alert.tsx';

interface ConfirmDialogProps {
  readonly title: string;
  readonly children: ReactNode;
  readonly confirmLabel: string;
  readonly onConfirm: () => Promise<unknown>;
  /** Draws what opens the question. */
  readonly trigger: (open: () => void) => ReactNode;
}

/** Asks before something that cannot be taken back. */
export function ConfirmDialog({ title, children, confirmLabel, onConfirm, trigger }: ConfirmDialogProps) {
  const { t } = useTranslation();
  const [opened, setOpened] = useState(false);
  const [error, setError] = useState<unknown>();
  const [busy, setBusy] = useState(false);
  const close = (): void => {
    setOpened(false);
    setError(undefined);
  };
  const confirm = async (): Promise<void> => {
    setBusy(true);
    try {
      await onConfirm();
      close();
    } catch (failure) {
      setError(failure);
    } finally {
      setBusy(false);
    }
  };
  return (
    <>
      {trigger(() => setOpened(true))}
      {opened ? (
        <Dialog onClose={close} title={title}>
          <Text size="sm" component="div">
            {children}
          </Text>
          <ErrorAlert error={error} />
          <Group justify="flex-end" mt="lg">
            <Button variant="default" onClick={close} data-autofocus>
              {t('cancel')}
            </Button>
            <Button color="red.8" loading={busy} onClick={() => void confirm()}>
              {confirmLabel}
            </Button>
          </Group>
        </Dialog>
      ) : null}
    </>
  );
}
