import { Button, Group, Modal, type ModalProps, Stack, Text } from '@mantine/core';
import type { UseMutationResult } from '@tanstack/react-query';
import { type ReactNode, useEffect, useState } from 'react';
import { useTranslation } from 'react-i18next';
import { ErrorAlert } from './error-alert.tsx';

interface DialogProps {
  readonly title: string;
  readonly size?: ModalProps['size'];
  /** Neither Escape nor a click beside it closes it. */
  readonly staysOpen?: boolean;
  /** While what it does is not finished: its close button is disabled. */
  readonly isBusy?: boolean;
  readonly onClose: () => void;
  readonly children: ReactNode;
}

/** A dialog over the page. Mount it to open it; when it is unmounted, the focus returns to what opened it. */
export function Dialog({ title, size = 'md', staysOpen = false, isBusy = false, onClose, children }: DialogProps) {
  useReturnFocus();
  const { t } = useTranslation();
  return (
    <Modal
      opened
      onClose={onClose}
      title={title}
      size={size}
      closeOnClickOutside={!staysOpen}
      closeOnEscape={!staysOpen}
      closeButtonProps={{ 'aria-label': t('close'), disabled: isBusy }}
    >
      {children}
    </Modal>
  );
}

/** Where the focus was before each open dialog, and before the dialogs it replaced; the one opened last is at the end. */
const openDialogs: (readonly (Element | null)[])[] = [];

/**
 * For a dialog that is mounted open: gives the focus back to what had it before when the dialog is taken away. Otherwise someone
 * who works with the keyboard would begin at the top of the page again. A dialog that takes the place of another one, as the one
 * that shows a new secret does, gives it back to what opened the first.
 */
export function useReturnFocus(): void {
  const [before] = useState(() => [document.activeElement, ...(openDialogs.at(-1) ?? [])]);
  useEffect(() => {
    openDialogs.push(before);
    return () => {
      openDialogs.splice(openDialogs.indexOf(before), 1);
      // Once the dialog is gone: until then it keeps the focus inside.
      setTimeout(() => {
        if (document.activeElement !== document.body) return;
        const element = before.find((each) => each?.isConnected === true && each !== document.body);
        if (element instanceof HTMLElement) element.focus();
      });
    };
  }, [before]);
}

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

interface FormDialogProps {
  readonly title: string;
  readonly submitLabel: string;
  /** The mutation that submitting starts. Its error is shown in the dialog. */
  readonly save: Pick<UseMutationResult<unknown, Error, void>, 'isPending' | 'error' | 'mutate'>;
  /** Why the form itself could not be loaded. */
  readonly error?: unknown;
  readonly onClose: () => void;
  readonly children: ReactNode;
  readonly disabled?: boolean;
}

/** A small form over the page; Enter sends it, Escape leaves. */
export function FormDialog({ title, submitLabel, save, error, onClose, children, disabled = false }: FormDialogProps) {
  const { t } = useTranslation();
  return (
    <Dialog onClose={onClose} title={title}>
      <form
        onSubmit={(event) => {
          event.preventDefault();
          save.mutate();
        }}
      >
        <Stack>
          {children}
          <ErrorAlert error={save.error ?? error} />
          <Group justify="flex-end">
            <Button variant="default" onClick={onClose}>
              {t('cancel')}
            </Button>
            <Button type="submit" loading={save.isPending} disabled={disabled}>
              {submitLabel}
            </Button>
          </Group>
        </Stack>
      </form>
    </Dialog>
  );
}

interface OneTimeDialogProps {
  readonly title: string;
  readonly size?: string;
  readonly onClose: () => void;
  readonly children: ReactNode;
}

/** Shows a secret that cannot be shown again: neither Escape nor a click beside it closes it by accident. */
export function OneTimeSecretDialog(props: OneTimeDialogProps) {
  return <Dialog staysOpen {...props} />;
}
