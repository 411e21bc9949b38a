import { Button, Group, Modal, type ModalProps, Stack, Text } from '@mantine/core';
import type { UseMutationResult } from '@tanstack/react-query';
import { type ReactNode, type SyntheticEvent, useEffect, useRef, useState } from 'react';
import { useTranslation } from 'react-i18next';
import { ErrorAlert } from './error-alert.tsx';

interface DialogProps {
  readonly title: string;
  readonly size?: ModalProps['size'];
  /** Neither Escape nor a click outside closes the dialog, not even without input. */
  readonly staysOpen?: boolean;
  /** Disables the close button while the dialog's action is running. */
  readonly isBusy?: boolean;
  readonly onClose: () => void;
  readonly children: ReactNode;
}

/**
 * A modal dialog. Mounting opens it; on unmount the focus returns to the element that opened it. Once something is
 * entered in its form, only its buttons close it.
 */
export function Dialog({ title, size = 'md', staysOpen = false, isBusy = false, onClose, children }: DialogProps) {
  useReturnFocus();
  const { t } = useTranslation();
  const content = useRef<HTMLDivElement>(null);
  const [hasInput, setHasInput] = useState(false);
  const closesEasily = !staysOpen && !hasInput;
  const noteInput = ({ type, target }: SyntheticEvent): void => {
    // A chosen option causes no event of input.
    const isInput = type === 'input' || (target as Element).closest('[role=option]');
    if (isInput && content.current?.querySelector('form')) setHasInput(true);
  };
  return (
    <Modal
      opened
      onClose={onClose}
      title={title}
      size={size}
      closeOnClickOutside={closesEasily}
      closeOnEscape={closesEasily}
      closeButtonProps={{ 'aria-label': t('close'), disabled: isBusy }}
    >
      {/* biome-ignore lint/a11y/noStaticElementInteractions: observes the fields inside */}
      {/* biome-ignore lint/a11y/useKeyWithClickEvents: a key that chooses an option clicks it */}
      <div ref={content} onInput={noteInput} onClick={noteInput}>
        {children}
      </div>
    </Modal>
  );
}

/**
 * For each open dialog, the elements that had the focus before it and before the dialogs it replaced; the most recent
 * dialog is last.
 */
const openDialogs: (readonly (Element | null)[])[] = [];

/**
 * Returns the focus to the previously focused element when a dialog unmounts, so that keyboard users do not restart at
 * the top of the page. A dialog that replaces another one (such as the one-time secret dialog) returns it to the
 * element that opened the first.
 */
export function useReturnFocus(): void {
  const [before] = useState(() => [document.activeElement, ...(openDialogs.at(-1) ?? [])]);
  useEffect(() => {
    openDialogs.push(before);
    return () => {
      openDialogs.splice(openDialogs.indexOf(before), 1);
      // After the unmount: until then the dialog traps the focus.
      setTimeout(() => {
        if (document.activeElement !== document.body) return;
        // The button of an empty list is gone once the list has an item; the head of the page then has it.
        const element =
          before.find((each) => each?.isConnected === true && each !== document.body) ??
          document.querySelector('[data-create]') ??
          document.querySelector('h1');
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
  /** Renders the element that opens the dialog. */
  readonly trigger: (open: () => void) => ReactNode;
}

/** Asks for confirmation before an irreversible action. */
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
  /** Mutation started by submitting. Its error is shown in the dialog. */
  readonly save: Pick<UseMutationResult<unknown, Error, void>, 'isPending' | 'error' | 'mutate'>;
  /** Error that occurred while loading the form itself. */
  readonly error?: unknown;
  readonly onClose: () => void;
  readonly children: ReactNode;
  readonly disabled?: boolean;
}

/** A small form in a dialog; Enter submits. */
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

/** Shows a secret that cannot be shown again, so neither Escape nor a click outside closes the dialog. */
export function OneTimeSecretDialog(props: OneTimeDialogProps) {
  return <Dialog staysOpen {...props} />;
}
