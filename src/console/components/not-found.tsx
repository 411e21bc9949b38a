import { Button } from '@mantine/core';
import { IconMovieOff } from '@tabler/icons-react';
import { Link } from '@tanstack/react-router';
import { useTranslation } from 'react-i18next';
import { EmptyState } from './empty-state.tsx';

export function NotFound() {
  const { t } = useTranslation();
  return (
    <EmptyState
      icon={<IconMovieOff size={28} />}
      order={1}
      title={t('notFound.title')}
      action={<Button renderRoot={(props) => <Link to="/studio" {...props} />}>{t('notFound.action')}</Button>}
    >
      {t('notFound.text')}
    </EmptyState>
  );
}
