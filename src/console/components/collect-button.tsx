import { ActionIcon } from '@mantine/core';
import { IconFolderPlus } from '@tabler/icons-react';
import { lazy, Suspense, useState } from 'react';
import { useTranslation } from 'react-i18next';

const CollectionDialog = lazy(() => import('./collection-dialog.tsx'));

/** Opens the choice of the collections of a video. */
export function CollectButton({ id }: { readonly id: string }) {
  const { t } = useTranslation('studio');
  const [isOpen, setOpen] = useState(false);
  return (
    <>
      <ActionIcon data-hint={t('collect')} aria-label={t('collect')} onClick={() => setOpen(true)}>
        <IconFolderPlus size={17} />
      </ActionIcon>
      {isOpen ? (
        <Suspense>
          <CollectionDialog taskIds={[id]} onClose={() => setOpen(false)} />
        </Suspense>
      ) : null}
    </>
  );
}
