#!/usr/bin/env python3
"""run.py cover BIN KEY CWD [filter...] | run.py mut KEYS ids-file results"""
import json,subprocess,os,sys,time,threading,signal,tempfile
M='/tmp/mutate2'
def env(n,log=None):
    e=dict(os.environ,MUT_N=str(n)); 
    if log: e['MUT_LOG']=log
    e['CARGO_MANIFEST_DIR']='/tmp/mutate2/tree/crates/server'
    return e
BINS=json.load(open(M+'/bins.json')) # key -> [path, cwd]
def run(key,tests,n,timeout,log=None,threads=2,extra_env=None):
    b,cwd=BINS[key]
    e=env(n,log)
    if extra_env: e.update(extra_env)
    p=subprocess.Popen(['nice','-n','15',b,'--exact','--test-threads',str(threads),*tests],cwd=cwd,env=e,stdout=subprocess.PIPE,stderr=subprocess.STDOUT,text=True,errors='replace',start_new_session=True)
    t0=time.time(); failed=[]; ok=[]
    timed=[False]
    def kill():
        timed[0]=True
        try: os.killpg(p.pid,signal.SIGKILL)
        except ProcessLookupError: pass
    tm=threading.Timer(timeout,kill); tm.start()
    for line in p.stdout:
        if line.startswith('test ') and ' ... FAILED' in line or line.rstrip().endswith('... FAILED'):
            failed.append(line.split()[1] if line.startswith('test ') else '?')
            if not log:
                try: os.killpg(p.pid,signal.SIGKILL)
                except ProcessLookupError: pass
                break
        elif line.startswith('test ') and line.rstrip().endswith('... ok'): ok.append(line.split()[1])
    p.wait(); tm.cancel()
    if failed: return 'fail',failed[0],time.time()-t0
    if timed[0]: return 'timeout','',time.time()-t0
    if p.returncode!=0: return 'crash',str(p.returncode),time.time()-t0
    return 'ok',len(ok),time.time()-t0
def listed(key):
    b,cwd=BINS[key]
    o=subprocess.run([b,'--list','--format','terse'],cwd=cwd,env=env(0),capture_output=True,text=True).stdout
    return [l[:-6] for l in o.splitlines() if l.endswith(': test')]
if sys.argv[1]=='cover':
    key=sys.argv[2]; inc=sys.argv[3].split('|'); exc=[x for x in sys.argv[4].split('|') if x] if len(sys.argv)>4 else []
    tests=[t for t in listed(key) if any(i in t for i in inc) and not any(x in t for x in exc)]
    out=f"{M}/cover-{key}.json" if len(sys.argv)<6 else sys.argv[5]
    cov=json.load(open(out)) if os.path.exists(out) else {}
    for i,t in enumerate(tests):
        if t in cov: continue
        log=f'{M}/log-{key}'
        open(log,'w').close()
        r,x,d=run(key,[t],4294967295,120,log)
        hits=sorted({int(v) for v in open(log).read().split()})
        cov[t]={'r':r,'d':d,'hits':hits}
        if r!='ok': print('BASE',t,r,x,flush=True)
        if i%20==0: json.dump(cov,open(out,'w')); print(i,len(tests),round(d,2),flush=True)
    json.dump(cov,open(out,'w')); print('done',len(tests))
else:
    # mut KEYS(comma) idsfile results.jsonl [maxsecs]
    keys=sys.argv[2].split(','); ids=[int(x) for x in open(sys.argv[3]).read().split()]; res=sys.argv[4]
    budget=float(sys.argv[5]) if len(sys.argv)>5 else 60
    covs={k:json.load(open(f'{M}/cover-{k}.json')) for k in keys}
    for k in covs:
        for c in covs[k].values(): c['hs']=set(c['hits'])
    done={json.loads(l)['id'] for l in open(res)} if os.path.exists(res) else set()
    f=open(res,'a')
    kills={}
    for n in ids:
        if n in done: continue
        t0=time.time(); verdict=None; used=0; by=''
        cand=[]
        for k in keys:
            for t,c in covs[k].items():
                if c['r']=='ok' and n in c['hs']: cand.append((len(c['hs'])*(0.1+c['d'])/(1+kills.get((k,t),0)),k,t,c['d']))
        cand.sort()
        total=0
        skipped=0
        for k in keys:
            mine=[c for c in cand if c[1]==k]
            size=4
            i=0
            while i<len(mine) and not verdict:
                batch=mine[i:i+size]; i+=size; size=min(size*3,40)
                secs=sum(c[3] for c in batch)
                if total+secs>budget: skipped+=len(batch); continue
                total+=secs; used+=len(batch)
                r,x,d=run(k,[c[2] for c in batch],n,15+secs*6)
                if r=='ok' and x!=len(batch): print('ODD',n,x,len(batch),flush=True)
                if r!='ok': verdict=r; by=x; kills[(k,x)]=kills.get((k,x),0)+1
            if verdict: break
        f.write(json.dumps({'id':n,'v':verdict or ('missed' if cand else 'unreached'),'by':by,'tests':used,'skipped':skipped,'s':round(time.time()-t0,1)})+'\n'); f.flush()
