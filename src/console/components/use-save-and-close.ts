import { useMutation } from '@tanstack/react-query';
import { useTranslation } from 'react-i18next';
import { useInvalidateQueries } from '../data/query-any-admin-endpoint.ts';
import { useToasts } from './toasts.tsx';

interface SaveAndCloseOptions {
  readonly onClose: () => void;
  /** Shown afterwards; "Saved" by default. */
  readonly message?: string;
}

/** What the button of an administration dialog does: saves, refetches what is on the screen, confirms it, and closes. */
export function useSaveAndClose(save: () => Promise<unknown>, { onClose, message }: SaveAndCloseOptions) {
  const { t } = useTranslation();
  const invalidate = useInvalidateQueries();
  const toasts = useToasts();
  return useMutation({
    mutationFn: save,
    onSuccess: async () => {
      await invalidate();
      toasts.success(message ?? t('saved'));
      onClose();
    },
  });
}
