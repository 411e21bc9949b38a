import { checkPagesAccessibility } from './check-accessibility.ts';

checkPagesAccessibility({ language: 'en', scheme: 'light', width: 1280, height: 860 });
