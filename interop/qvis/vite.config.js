// Builds qvis's sources, in src/, with tools of today: its own, vue-cli 3, need
// packages that the registry does not have any more.

import { resolve } from 'node:path';
import vue2 from '@vitejs/plugin-vue2';

export default {
  base: './',
  plugins: [vue2()],
  // As qvis is served: Vue's checks for developers make its pages several times slower.
  define: { 'process.env.NODE_ENV': '"production"', 'process.env': '{}' },
  resolve: {
    alias: [
      // Gone from the registry. It had the types and names of older drafts; those
      // of draft-02, which is what our traces are to qvis, are in its own sources.
      { find: /^@quictools\/qlog-schema\/.*/, replacement: resolve('src/data/QlogSchema02.ts') },
      { find: '@', replacement: resolve('src') },
    ],
    extensions: ['.ts', '.js', '.vue', '.json'],
  },
  esbuild: {
    tsconfigRaw: { compilerOptions: { experimentalDecorators: true, useDefineForClassFields: false } },
  },
  build: { minify: false, commonjsOptions: { requireReturnsDefault: 'preferred' } },
};
