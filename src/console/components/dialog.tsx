import { Modal, type ModalProps } from '@mantine/core';
import type { ReactNode } from 'react';
import { useTranslation } from 'react-i18next';
import { useReturnFocus } from './use-return-focus.ts';

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
