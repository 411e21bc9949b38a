import { useTranslation } from 'react-i18next';
import { Page } from '../../components/page.tsx';
import Ideas, { IDEAS } from './ideas.tsx';

/** Prompts and clips to start from. */
export function ExplorePage() {
  const { t } = useTranslation('explore');
  return (
    <Page title={t('title')} subtitle={t('lead')} size="xl">
      <Ideas count={IDEAS.length} />
    </Page>
  );
}
